"""Pages of one HTML file each, which need no server and no network, and model cards: what they share.

The pages need jinja2 and plotly, which the lab extra brings; cards need neither.
"""
