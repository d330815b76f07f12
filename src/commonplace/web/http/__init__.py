"""HTTP of the service: access, guards, problems, limits, health and metrics; imports no route of a memory."""
