from .classifier import TemporalNetworkClassifier as TemporalNetworkClassifier
from .known import hidden_markov as hidden_markov
from .known import kalman as kalman
from .known import local_level as local_level
from .network import TemporalNetwork as TemporalNetwork
from .slices import Before as Before
from .slices import before as before
from .slices import renamed as renamed
