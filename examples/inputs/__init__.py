"""Real inputs for real models, made by these scripts so that nothing has to be downloaded.

    models.py    which models, where they lie, what each is fed
    pictures.py  lines and pages of text, rendered
    texts.py     English sentences and their tokens
    files.py     files of many types, as bytes
    speech.py    sound that resembles speech
    decode.py    from a model's numbers to an answer a person can read

Everything is made from a seed: the same seed gives the same bytes on the same machine.
The tests, the benchmarks and the demo all feed their models from here.
"""
