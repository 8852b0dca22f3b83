"""The report renders the evidence: a page, Markdown, pictures, and the README's generated parts."""
