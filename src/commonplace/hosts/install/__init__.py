"""Agent hosts: a table of them, and one engine that installs commonplace into their settings and removes it again."""
