"""Import path of the documents for planners with a model."""
