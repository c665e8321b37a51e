// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	yaml3 "go.yaml.in/yaml/v3"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// maxFileBytes bounds what is read: a configuration is a few hundred bytes.
const maxFileBytes = 1 << 20

// Load reads a configuration file over the defaults. It fails where the file cannot be read, is
// not YAML, is of another apiVersion or kind, or has a field that is unknown, given twice or of
// the wrong type; the error names the file, the line and the field.
func Load(path string) (*Configuration, error) {
	file, err := os.Open(path) //nolint:gosec // the user who starts the process names the file
	if err != nil {
		return nil, fmt.Errorf("configuration file: %w", err)
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("configuration file: %w", err)
	}
	if len(content) > maxFileBytes {
		return nil, fmt.Errorf("configuration file %s: larger than %d bytes", path, maxFileBytes)
	}
	return Parse(path, content)
}

// Parse decodes the content of a configuration file over the defaults; name is for the errors, which are those
// of Load.
func Parse(name string, content []byte) (*Configuration, error) {
	asJSON, err := yaml.YAMLToJSONStrict(content)
	if err != nil {
		return nil, fmt.Errorf("configuration file %s: %w", name, err)
	}
	lines, second := findLines(content)
	if second > 0 {
		return nil, fmt.Errorf("configuration file %s:%d: a second document begins, which would have no effect: put all fields into one", name, second)
	}
	var header struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(asJSON, &header); err != nil {
		return nil, fmt.Errorf("configuration file %s: not an object with apiVersion and kind: %w", name, err)
	}
	if header.APIVersion != APIVersion || header.Kind != Kind {
		return nil, fmt.Errorf("configuration file %s: apiVersion %q, kind %q: this version of fairlead reads apiVersion %q, kind %q",
			name, header.APIVersion, header.Kind, APIVersion, Kind)
	}

	configuration := Default()
	if err := configuration.decode("configuration file "+name, asJSON, lines); err != nil {
		return nil, err
	}
	return configuration, nil
}

// set sets one field by its path, such as webhook.drainDelay, to a value that is written as text.
func (c *Configuration) set(path, text string) error {
	nest := func(value []byte) []byte {
		for _, name := range slices.Backward(strings.Split(path, ".")) {
			value, _ = json.Marshal(map[string]json.RawMessage{name: value}) // which is JSON
		}
		return value
	}
	value, err := textToJSON(text, func(value []byte) error { return json.Unmarshal(nest(value), &Configuration{}) })
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return c.decode("", nest(value), nil)
}

// decode lays an object over the configuration, strictly. origin begins the errors, with the line where it is known.
func (c *Configuration) decode(origin string, asJSON []byte, lines fieldLines) error {
	unknown, err := kjson.UnmarshalStrict(asJSON, c)
	if err != nil {
		return decodeError(origin, asJSON, lines, err)
	}
	problems := make([]error, 0, len(unknown))
	for _, problem := range unknown {
		var at string
		if wrong, ok := errors.AsType[kjson.FieldError](problem); ok {
			at, problem = wrong.FieldPath(), fmt.Errorf("unknown field %q", wrong.FieldPath())
		}
		problems = append(problems, lines.wrap(origin, at, problem))
	}
	return errors.Join(problems...)
}

// remedies describes the values that a field takes, by the kind of its Go type.
var remedies = map[reflect.Kind]string{
	reflect.Bool: "true or false", reflect.Int: "a number", reflect.Int64: "a number", reflect.Float32: "a number",
	reflect.String: "a string", reflect.Slice: "a list, such as [a, b]", reflect.Map: "an object", reflect.Struct: "an object",
}

// decodeError words a decoding error with the field's path and line.
func decodeError(origin string, asJSON []byte, lines fieldLines, err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return lines.wrap(origin, wrong.Field, fmt.Errorf("%s: cannot be a %s: give %s", wrong.Field, wrong.Value, remedies[wrong.Type.Kind()]))
	}
	detail := strings.TrimPrefix(err.Error(), "json: ")
	if wrong := undecodable(asJSON); wrong != "" { // such as a duration: the decoder does not name the field
		return lines.wrap(origin, wrong, fmt.Errorf("%s: %s", wrong, detail))
	}
	return lines.wrap(origin, "", errors.New(detail))
}

// undecodable returns the path of the innermost field that does not decode by itself, or "".
func undecodable(asJSON []byte) string {
	var object map[string]any
	if err := json.Unmarshal(asJSON, &object); err != nil {
		return ""
	}
	var path []string
	for wrong := true; wrong; {
		wrong = false
		for _, key := range slices.Sorted(maps.Keys(object)) {
			alone := map[string]any{key: object[key]}
			for _, outer := range slices.Backward(path) {
				alone = map[string]any{outer: alone}
			}
			content, err := json.Marshal(alone)
			if err != nil || kjson.UnmarshalCaseSensitivePreserveInts(content, &Configuration{}) != nil {
				path, wrong = append(path, key), true
				object, _ = object[key].(map[string]any)
				break
			}
		}
	}
	return strings.Join(path, ".")
}

// fieldLines are the lines of a file's fields, by path such as "webhook.tls.minVersion".
type fieldLines map[string]int

// findLines finds the line of every field, and that of a second document, 0 where there is none. A file that does not
// parse has none; the decoder that comes after says what is wrong with it.
func findLines(content []byte) (found fieldLines, second int) {
	found = fieldLines{}
	documents := yaml3.NewDecoder(bytes.NewReader(content))
	var document, other yaml3.Node
	if err := documents.Decode(&document); err != nil {
		return found, 0
	}
	for _, root := range document.Content {
		found.walk("", root)
	}
	if err := documents.Decode(&other); err == nil {
		second = other.Line
	}
	return found, second
}

// walk visits mappings and sequences. It does not follow aliases, so it ends on any document.
func (f fieldLines) walk(path string, node *yaml3.Node) {
	switch node.Kind {
	case yaml3.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, value := node.Content[i], node.Content[i+1]
			field := key.Value
			if path != "" {
				field = path + "." + field
			}
			f[field] = key.Line
			f.walk(field, value)
		}
	case yaml3.SequenceNode:
		for i, item := range node.Content {
			element := fmt.Sprintf("%s[%d]", path, i)
			f[element] = item.Line
			f.walk(element, item)
		}
	}
}

// FieldError is a problem of a field of a configuration file.
type FieldError struct {
	// Field is its path, such as webhook.drainDelay; "" for the whole file.
	Field string
	// Err describes the fault.
	Err    error
	origin string
}

// Error begins with the file and the line, as far as these are known.
func (e *FieldError) Error() string {
	if e.origin == "" {
		return e.Err.Error()
	}
	return e.origin + ": " + e.Err.Error()
}

// Unwrap returns the error without them.
func (e *FieldError) Unwrap() error { return e.Err }

// wrap begins an error with the origin and the line of a field, as far as these are known.
func (f fieldLines) wrap(origin, field string, err error) error {
	if origin == "" {
		return err
	}
	if line, ok := f[field]; ok {
		origin = fmt.Sprintf("%s:%d", origin, line)
	}
	return &FieldError{field, err, origin}
}
