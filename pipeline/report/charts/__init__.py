"""Charts: the intervals they count in, what altair is told, and the SVG that stands in the page."""
