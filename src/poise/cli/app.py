"""The Typer app with all commands. No other package of Poise imports Typer or Rich."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import poise
from poise.cli.clips import lock_command, quality_command, track_command
from poise.cli.console import COMMANDS
from poise.cli.demo import demo_command
from poise.cli.doctor import doctor_command
from poise.cli.export import export_command
from poise.cli.files import convert_command, info_command
from poise.cli.follow import follow_command
from poise.cli.job import run_command, show_command
from poise.cli.maps import map_command
from poise.cli.race import race_command
from poise.cli.retarget import retarget_command
from poise.cli.solve import GoalCommand, solve_command
from poise.cli.studio import studio_command

__all__ = ["app"]

Examples = dict[Callable[..., None], list[str]]
EXAMPLES: Examples = {
    demo_command: ["poise demo", "poise demo --out pictures --open", "poise demo --json"],
    studio_command: [
        "poise studio",
        "poise studio robot.urdf",
        "poise studio walk.bvh --scale 0.01",
        "poise studio arm.urdf --tool flange 0 0 0.12",
        "poise studio dancer.glb --port 9000 --no-open",
        "poise studio humanoid --no-shadows",
    ],
    solve_command: [
        "poise solve humanoid --reach hand_l 0.4 1.2 0.3 --look-at eyes 0.4 1.2 0.3 --pin foot_l,foot_r",
        "poise solve humanoid --reach hand_l 0.2 0.9 0.8 --pin foot_l,foot_r --balance foot_l,foot_r --out pose.html",
        "poise solve panda --reach panda_hand_tcp 0.5 0.2 0.4 0 1 0 0 --method sdls --json",
        "poise solve robot.urdf --reach tool0 1.2 0 0.4 --out pose.png; echo $?",
    ],
    info_command: ["poise info robot.urdf", "poise info walk.bvh", "poise info humanoid --json"],
    convert_command: [
        "poise convert robot.urdf.xacro robot.urdf",
        "poise convert walk.bvh walk.csv",
        "poise convert walk.csv walk.npz --model g1.xml --style mjlab",
    ],
    export_command: [
        "poise export robot.urdf --frame tool0 -o robot_ik.hpp",
        "poise export so101 --frame gripper_frame_link --name arm -o arm_ik.hpp",
    ],
    lock_command: [
        "poise lock walk.bvh --scale 0.01 --out locked.bvh",
        "poise lock dancer.glb --out locked.glb --save-contacts feet.json",
        "poise lock walk.bvh --contacts feet.json --out locked.bvh",
    ],
    retarget_command: [
        "poise retarget dance.bvh g1.xml --scale 0.01 --out dance_g1.csv --style unitree",
        "poise retarget walk.bvh dancer.glb --out walk.glb --save-mapping cmu_to_dancer.json",
        "poise retarget lafan1/ g1.xml --scale 0.01 --out g1/ --style mjlab --fps 50",
    ],
    quality_command: ["poise quality walk.bvh", "poise quality locked.bvh --source walk.bvh --json"],
    track_command: ["poise track panda path.csv --frame panda_hand_tcp --fps 100 --out q.csv"],
    follow_command: [
        "poise follow robot.urdf --goal tool0 --rotation --speed 1.5",
        "poise follow humanoid --goal hand_r --joint shoulder_r,elbow_r,wrist_r --speed 2 --listen 9000",
        "poise follow panda --speed 1.5 --clearance --listen 0.0.0.0:9000 --remote",
    ],
    map_command: [
        "poise map panda --out panda_map.npz",
        "poise map robot.urdf --frame tool0 --spacing 0.1 --directions 50 --out map.npz --picture map.png",
        "poise map panda --gpu --out panda_map.npz; poise studio panda_map.npz",
    ],
    race_command: [
        "poise race",
        "poise race panda --rotation --problems 1000 --json",
        "poise race snake100 --out race.png",
        "poise race --method lm --method dls --method ccd --out race.html",
    ],
    doctor_command: ["poise doctor", "poise doctor --json"],
}
JOB_EXAMPLES: Examples = {
    run_command: [
        "poise job run job.json targets/ out/",
        "poise job run job.json 'targets/*.parquet' out/ --shard $SLURM_ARRAY_TASK_ID/64",
    ],
    show_command: ["poise job show job.json"],
}

UsageError: Any = typer.BadParameter.__base__  # of click, or of the copy of it in newer versions of typer


class Commands(TyperGroup):
    """All commands; a wrong command line is reported as one line with what to type."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command of the first word."""
        try:
            return super().invoke(ctx)
        except UsageError as error:
            if type(error).__name__ == "NoArgsIsHelpError":
                raise
            wrong = error.ctx or ctx  # some versions give no context; then the group knows the command
            command = getattr(wrong.command, "commands", {}).get(ctx.invoked_subcommand, wrong.command)
            _, *examples = (command.epilog or "").split("\n\n")
            advice = f"for example: {examples[0]}" if examples else f"one of: {', '.join(command.commands)}"
            word = (re.findall(r"^No such command '(.*?)'", error.format_message()) or [""])[0]
            if word in poise.models.names() or Path(word).is_file():
                advice = f"poise studio {word}, or poise info {word}"
            advice = "poise --help" if word == "help" else advice
            told = f"{error.format_message().rstrip('.')}.".replace("?.", "?")
            typer.echo(f"{wrong.command_path}: {told} Type {advice}", err=True)
            raise typer.Exit(2) from None


app = typer.Typer(
    name="poise",
    cls=Commands,
    help="Inverse kinematics for anything with joints.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",  # in the default, units in brackets are markup and vanish
    context_settings={"help_option_names": ["-h", "--help"]},
)


def print_version(wanted: bool) -> None:
    """Print the version and exit."""
    if wanted:
        typer.echo(f"poise {poise.__version__}")
        raise typer.Exit


@app.callback()
def read_shared_options(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Inverse kinematics for anything with joints."""


def add_commands(typer_app: typer.Typer, examples: Examples) -> None:
    """Add functions named `<verb>_command` as commands, with their examples under the help text."""
    for command, lines in examples.items():
        kind = GoalCommand if command is solve_command else None
        verb = command.__name__.removesuffix("_command")
        typer_app.command(verb, cls=kind, epilog="\n\n".join(("Examples:", *lines)))(command)


add_commands(app, EXAMPLES)
jobs = typer.Typer(
    help="Run large jobs on rows or clips; they can be killed and resumed.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
add_commands(jobs, JOB_EXAMPLES)
app.add_typer(jobs, name="job")
COMMANDS.link(lambda: typer.main.get_command(app))
