from .network import TemporalNetwork as TemporalNetwork
from .slices import before as before
