"""One run beside what was expected of it: call by call, what differs and why, as text and as a page."""
