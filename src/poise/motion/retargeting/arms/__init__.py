"""Arms of robots in retargeted clips: their branches and the speed of their hinges."""
