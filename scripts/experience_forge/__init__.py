"""experience-forge: confirmed, testable experience for coding agents."""

__version__ = "0.1.0"
