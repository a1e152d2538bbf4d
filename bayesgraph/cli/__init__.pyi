from . import commands as commands
from . import printing as printing
from . import warm_up as warm_up
from .entry import main as main
