"""How a decision and its evidence become a page of Markdown and a short summary. Pure: no file, no clock."""
