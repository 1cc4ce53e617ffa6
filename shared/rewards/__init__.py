"""SAGE's rewards: pure functions over values.

`rules` holds the knobs and the two gates, `tags` reads tagged replies, `formats` scores their form, `scores` turns the Critic's
``<score>`` into a quality in [0, 1], and `roles` has the four reward formulas.
"""
