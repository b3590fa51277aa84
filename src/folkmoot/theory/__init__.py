"""The mathematics that needs no conversation: bounds, rounding, intervals, promises."""
