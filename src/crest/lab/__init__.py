"""The lab: what makes the evidence. Models, training, runs, claims and the report; the product never imports it."""
