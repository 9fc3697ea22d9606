// Filled by the change that brings these tests.
