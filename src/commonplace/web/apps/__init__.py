"""App memory over HTTP: the specification's admin API, and what goes beyond it under ``/api/v1``."""
