"""End-to-end tests: the real client, a scripted server in the model's place, throw-away homes."""
