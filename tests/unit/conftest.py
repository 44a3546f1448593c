from hypothesis import settings

# A busy machine is no failure; the number of examples keeps these tests quick.
settings.register_profile("unit", deadline=None, max_examples=50)
settings.load_profile("unit")
