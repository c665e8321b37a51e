// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
)

// Config is the configuration of an image, as in the OCI image specification.
type Config struct {
	User       string            `json:"User,omitempty"`
	Env        []string          `json:"Env,omitempty"`
	Entrypoint []string          `json:"Entrypoint,omitempty"`
	Cmd        []string          `json:"Cmd,omitempty"`
	WorkingDir string            `json:"WorkingDir,omitempty"`
	Labels     map[string]string `json:"Labels,omitempty"`
}

// Stage is the last stage of a Dockerfile, as far as it describes an image of one program.
type Stage struct {
	Config
	// Program is where the one file that is copied stands in the image.
	Program string
}

// Dockerfile reads the last stage of a Dockerfile. The arguments replace the defaults of those that
// it declares. An instruction that it does not know is an error: an image without it would be
// another one.
func Dockerfile(file string, arguments map[string]string) (*Stage, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("the image's Dockerfile: %w", err)
	}
	stage, err := lastStage(string(content), arguments)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return stage, nil
}

func lastStage(content string, arguments map[string]string) (*Stage, error) {
	all := instructions(content)
	from := -1
	for i, line := range all {
		if strings.HasPrefix(line, "FROM ") {
			from = i
		}
	}
	if from < 0 {
		return nil, errors.New("no FROM")
	}
	if base := strings.Fields(all[from])[1]; base != "scratch" {
		return nil, fmt.Errorf("FROM %s: the last stage must begin from scratch, since no base is downloaded here", base)
	}
	stage, declared := &Stage{Config: Config{WorkingDir: "/", Labels: map[string]string{}}}, map[string]string{}
	for _, line := range all[from+1:] {
		instruction, rest, _ := strings.Cut(line, " ")
		if err := stage.apply(instruction, strings.TrimSpace(rest), declared, arguments); err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
	}
	if stage.Program == "" || !slices.Contains(stage.Entrypoint, stage.Program) {
		return nil, fmt.Errorf("the last stage must copy one program, which is its entrypoint: copied %q, entrypoint %q", stage.Program, stage.Entrypoint)
	}
	return stage, nil
}

// instructions are the lines without comments, each with those that continue it.
func instructions(content string) []string {
	var all []string
	continued := false
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		more := strings.HasSuffix(line, `\`)
		line = strings.TrimSpace(strings.TrimSuffix(line, `\`))
		if continued {
			all[len(all)-1] += " " + line
		} else {
			all = append(all, line)
		}
		continued = more
	}
	return all
}

func (s *Stage) apply(instruction, rest string, declared, arguments map[string]string) error {
	expand := func(text string) string {
		return os.Expand(text, func(name string) string { return declared[name] })
	}
	switch instruction {
	case "ARG":
		name, value, _ := strings.Cut(rest, "=")
		if given, ok := arguments[name]; ok {
			value = given
		}
		declared[name] = value
	case "LABEL":
		for _, pair := range pairs(rest) {
			name, value, _ := strings.Cut(pair, "=")
			s.Labels[name] = expand(strings.Trim(value, `"`))
		}
	case "COPY":
		fields := strings.Fields(rest)
		if s.Program != "" || len(fields) != 3 || !strings.HasPrefix(fields[0], "--from=") || !path.IsAbs(fields[2]) {
			return errors.New("not one COPY --from=<stage> <program> <absolute path>")
		}
		s.Program = path.Clean(fields[2])
	case "USER":
		s.User = rest
	case "ENTRYPOINT":
		return json.Unmarshal([]byte(rest), &s.Entrypoint)
	case "CMD":
		return json.Unmarshal([]byte(rest), &s.Cmd)
	default:
		return errors.New("not known here")
	}
	return nil
}

// pairs splits at the spaces outside of quotes.
func pairs(text string) []string {
	quoted := false
	return strings.FieldsFunc(text, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return r == ' ' && !quoted
	})
}
