"""The checks at public doors: `arguments` for numbers, choices and shapes, `tensors` for what needs torch.

Nothing is imported here: `crest.theory` takes `crest._base.arguments` and stays without torch.
"""
