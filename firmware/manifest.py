# What is frozen into a board's image: the firmware and what it shares with the host.
freeze(".", "main.py")
package("boards")
package("drives")
package("motionboard")
package("idmwire", base_path="../shared")
