"""MOFA+ at its defaults (ten factors, Gaussian views), then k-means on its factors."""

from mofapy2.run.entry_point import entry_point
from sklearn.cluster import KMeans


def cluster(method, Xs, mask, n_clusters, random_state):
    """Labels by k-means on the expected factors; MOFA leaves out what is NaN."""
    model = entry_point()
    model.set_data_options()
    model.set_data_matrix([[X] for X in Xs], likelihoods=["gaussian"] * len(Xs))
    model.set_model_options()
    model.set_train_options(seed=random_state, quiet=True)
    model.build()
    model.run()
    factors = model.model.getExpectations()["Z"]["E"]
    k_means = KMeans(n_clusters, n_init=10, random_state=random_state)
    return k_means.fit_predict(factors)
