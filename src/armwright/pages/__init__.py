"""Everything that is shown of robots and motions: pages, pictures, plots and the viewer."""
