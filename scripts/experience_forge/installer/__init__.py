"""What `install.py` runs: standard library only, since it makes the environment that the rest needs.

An edge like `cli`: may import `store.files`, `clients.claude_settings`, `core.json_text`, `fast`, nothing above.
"""
