"""Workspace memory over HTTP: small facts of one workspace."""
