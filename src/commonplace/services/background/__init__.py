"""Work beside a session, a worker or the service: followed sources, mirrors and sync."""
