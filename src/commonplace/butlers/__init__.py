"""A minimal host: it loads the modules of a ``butler.toml``, serves their tools, and runs sessions with them."""
