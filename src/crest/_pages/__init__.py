"""Pages of one HTML file each, which need no server and no network: what they share.

Needs jinja2 and plotly, which the lab extra brings.
"""
