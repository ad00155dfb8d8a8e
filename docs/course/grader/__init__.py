"""The exercises of the course, and their checker: it compares answers with the textbook on random arms.

``python check.py 3 my_solution.py`` checks one in a separate process. The functions that students write take plain
arrays, and the solutions are not included here.
"""

from grader.case import ExerciseCase
from grader.exercise import EXERCISES, Exercise, judge_file

__all__ = ["EXERCISES", "Exercise", "ExerciseCase", "judge_file"]
