"""The report as one HTML file: views of the material, plots as SVG, templates, and the page that joins them."""
