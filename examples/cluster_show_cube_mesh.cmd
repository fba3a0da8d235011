cluster show examples/clusters/cube_mesh.toml
