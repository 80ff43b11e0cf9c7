"""What a board holds: the settings made from a robot file, the named parameters, the faults."""
