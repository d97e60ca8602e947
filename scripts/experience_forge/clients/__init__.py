"""One module per client: where its files are and what its hooks look like."""
