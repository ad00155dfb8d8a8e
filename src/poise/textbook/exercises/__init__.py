"""The exercises of the course, and what judges an answer: the textbook, on random arms, in plain words.

``poise check 3 my_solution.py`` judges one in a process of its own. The functions that students write take plain
arrays, and none of their answers is in here.
"""

from poise.textbook.exercises.case import ExerciseCase
from poise.textbook.exercises.exercise import EXERCISES, Exercise, judge_file

__all__ = ["EXERCISES", "Exercise", "ExerciseCase", "judge_file"]
