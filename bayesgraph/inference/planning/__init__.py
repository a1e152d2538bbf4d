"""What will be computed: orders, trees, programs and their cost, before anything runs."""
