"""Adapters of agent frameworks over the public API, each a module that needs the framework's own package.

Nothing is imported here: `import commonplace.adapters.langgraph` asks for LangGraph, the others do not.
"""
