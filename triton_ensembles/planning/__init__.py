"""What a multi-model endpoint of many ensembles needs: instances, cold starts, latency and cost.

Profiles of archives and traffic go in. Two engines predict, which check each other: a closed form for the steady state
(``closed_form``), and a simulation of every request (``simulation``), for bursts, deploys and the course of a day.

    prediction = predict([(profile, 1.0)], zipf(300, 1.1, rate=20), Host("here", 2, 4 << 30))
    prediction.cold            the share of requests that find their model not loaded
"""
