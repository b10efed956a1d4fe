"""`python -m pipeline` is `trajtab`."""

from pipeline.cli import main

# Worker processes import this module again under another name.
if __name__ == "__main__":
    main()
