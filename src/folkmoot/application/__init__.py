"""What people do with Folkmoot, from Python or a shell: problems, runs in folders, comparisons, inspections."""
