"""A minimal host: it loads modules as ``butler.toml`` says, serves their tools, and runs sessions with them."""
