model show deepseek-v3 --json
