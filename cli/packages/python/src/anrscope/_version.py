"""The version, which ``scripts/version`` copies from ``Cargo.toml``."""

__version__ = "0.1.0"
