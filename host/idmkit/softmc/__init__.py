"""What softMC users bring and take: torque units, identification programs (PRG) and their records (REC)."""
