from .catalogue import Source as Source
from .catalogue import diagrams as diagrams
from .catalogue import network as network
from .catalogue import networks as networks
from .catalogue import table as table
from .catalogue import tables as tables
