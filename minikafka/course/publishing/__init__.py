"""The lessons as something to look at without running them.

pictures_of_lessons.py runs a lesson's cells and hands over its pictures. They become
the gallery (gallery.py; asking_pictures.py has questions for pictures that ask
nothing), the SVG with which a lesson or the README begins (title_pictures.py), and the
site (site.py): its pages, JupyterLite with the course (site_lab.py), the Python
that runs in the browser (site_python.py), and the playground (playground.py in Python,
playground.js in the page, worker.js between the two).

Everything written is static files for any web host, also under a sub-path.
"""
