"""What the client's hook entry imports: hands the event over, and never lets anything out."""

import sys


def main():
    """Run the hook of one event: `sys.argv` is `-c`, this folder, the event."""
    try:
        from experience_forge.fast import dispatch

        dispatch.main(sys.argv[2] if len(sys.argv) > 2 else "", sys.argv[1] if len(sys.argv) > 1 else "")
    except BaseException:
        # Whatever it was: the session comes first. The fault log is written further in.
        return 0
    return 0
