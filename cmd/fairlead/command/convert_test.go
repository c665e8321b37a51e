// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/convert"
)

var update = flag.Bool("update", false, "write what convert says as the golden files")

func conversionTo(t testing.TB, version string) *convert.Conversion {
	t.Helper()
	c, err := convert.New(convert.Options{Kinds: convertible(), To: version})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// converted returns a text at a version, and demands that nothing failed and that a second time
// changes no byte.
func converted(t testing.TB, text []byte, version string) []byte {
	t.Helper()
	for range 2 {
		result, err := conversionTo(t, version).Text(text)
		if err != nil || len(result.Failed) > 0 {
			t.Fatalf("to %s: %v %v\n%s", version, err, result.Failed, text)
		}
		again, err := conversionTo(t, version).Text(result.Text)
		if err != nil || again.Changed || len(again.Stale) > 0 {
			t.Fatalf("a second time to %s: %v, changed %v, %v\n%s", version, err, again.Changed, again.Stale, result.Text)
		}
		text = result.Text
	}
	return text
}

// TestConvertKeepsWhatStays converts testdata/convert/NAME.VERSION.in.EXTENSION and compares
// with the golden file NAME.VERSION.out.EXTENSION, byte for byte.
func TestConvertKeepsWhatStays(t *testing.T) {
	inputs, err := filepath.Glob("testdata/convert/*.in.*")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, input := range inputs {
		t.Run(filepath.Base(input), func(t *testing.T) {
			text, err := os.ReadFile(input)
			if err != nil {
				t.Fatal(err)
			}
			got := converted(t, text, strings.Split(filepath.Base(input), ".")[1])
			output := strings.Replace(input, ".in.", ".out.", 1)
			if *update {
				if err := os.WriteFile(output, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(output)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", output, diff)
			}
		})
	}
}

// manifests are all samples.
func manifests(t testing.TB) map[string][]byte {
	t.Helper()
	texts := map[string][]byte{}
	for _, pattern := range []string{"config/samples/*_*.yaml", "config/samples/reference/*.yaml"} {
		files, err := filepath.Glob("../../../" + pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no %s: %v", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			texts[file] = text
		}
	}
	return texts
}

func asValue(t testing.TB, text []byte) (value map[string]any) {
	t.Helper()
	if err := yaml.UnmarshalStrict(text, &value); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return value
}

func TestConvertThereAndBackIsTheSameObject(t *testing.T) {
	for file, text := range manifests(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			want := asValue(t, text)
			there, back := "v1alpha1", "v1"
			if strings.HasSuffix(want["apiVersion"].(string), "alpha1") {
				there, back = back, there
			}
			if same := converted(t, text, back); !bytes.Equal(same, text) {
				t.Errorf("--to the version that it has changed it:\n%s", cmp.Diff(string(text), string(same)))
			}
			up := converted(t, text, there)
			again := converted(t, up, back)
			if got := asValue(t, again); !cmp.Equal(want, got) {
				t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
			}
		})
	}
}

func TestConvertAddsNoStatusAndNoTimestamp(t *testing.T) {
	for file, text := range manifests(t) {
		object := asValue(t, text)
		if object["status"] != nil {
			continue
		}
		for _, version := range []string{"v1", "v1alpha1"} {
			got := asValue(t, converted(t, text, version))
			metadata := got["metadata"].(map[string]any)
			if _, has := metadata["creationTimestamp"]; has {
				t.Errorf("%s to %s has a creationTimestamp", file, version)
			}
			// A status that the annotation kept may come back.
			if _, has := got["status"]; has && object["metadata"].(map[string]any)["annotations"] == nil {
				t.Errorf("%s to %s has a status: %v", file, version, got["status"])
			}
		}
	}
}

func TestConvertExitCodes(t *testing.T) {
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	old := file("old.yaml", "\n---\napiVersion: networking.fairlead.dev/v1alpha1\nkind: ExternalService\nmetadata: {name: a, namespace: shop}\nspec: {ports: [{name: a, port: 1}], endpoints: [{name: a, addresses: [192.0.2.1]}]}\n")
	unknown := file("unknown.yaml", "apiVersion: networking.fairlead.dev/v2\nkind: ExternalService\nmetadata: {name: a}\n")
	kind := file("kind.yaml", "a: b\n---\napiVersion: chaos.fairlead.dev/v1\nkind: Monkey\n")
	broken := file("broken.yaml", "a: b\n---\napiVersion: chaos.fairlead.dev/v1\n  kind: [\n")
	twice := file("twice.yaml", "a: b\n---\napiVersion: chaos.fairlead.dev/v1\nkind: A\nkind: B\n")
	for name, test := range map[string]struct {
		args   string
		code   int
		stdout string
		stderr []string
	}{
		"there already":    {"--to v1alpha1 --check " + old, 0, "", nil},
		"check":            {"--to v1 --check " + old, 1, old + ":3:1: ExternalService shop/a: is at v1alpha1, not at v1\n", []string{"1 object not at v1", "--write"}},
		"unknown version":  {"--to v1 " + old + " " + unknown, 1, "", []string{unknown + ":1:1: error: ExternalService a: ", `"v2"`, "v1 and v1alpha1", "nothing was written"}},
		"unknown kind":     {"--to v1 " + kind, 1, "", []string{kind + ":3:1: ", `"Monkey"`, "ChaosPod"}},
		"broken":           {"--to v1 " + broken, 2, "", []string{broken + ":4:", "not YAML: mapping values"}},
		"a key twice":      {"--to v1 " + twice, 2, "", []string{twice + ":5:1: error: ", `"kind"`}},
		"missing file":     {"--to v1 " + folder + "/none", 2, "", []string{folder + "/none"}},
		"no file":          {"--to v1", 2, "", []string{"name files"}},
		"empty input":      {"--to v1 -", 2, "", []string{"stdin: error: nothing was read", "--allow-empty", "nothing was written"}},
		"beside a file":    {"--to v1 " + old + " -", 2, "", []string{"stdin: error: nothing was read"}},
		"empty file":       {"--to v1 --check " + file("empty.yaml", "# nothing yet\n---\n"), 2, "", []string{"nothing was read", "--allow-empty"}},
		"empty folder":     {"--to v1 " + t.TempDir(), 2, "", []string{"nothing was read"}},
		"allowed":          {"--to v1 --allow-empty -", 0, "", nil},
		"no version":       {old, 2, "", []string{"--to v1, or --to v1alpha1"}},
		"version of none":  {"--to v3 " + old, 2, "", []string{`"v3"`, "v1 and v1alpha1"}},
		"unknown flag":     {"--too v1", 2, "", []string{"--too"}},
		"both":             {"--to v1 --check --write " + old, 2, "", []string{"exclude"}},
		"writing to stdin": {"--to v1 --write -", 2, "", []string{"standard input"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := runCommand(t, append([]string{"convert"}, strings.Fields(test.args)...)...)
			if code != test.code || stdout != test.stdout {
				t.Errorf("exit code %d, %q; want %d, %q", code, stdout, test.code, test.stdout)
			}
			for _, want := range test.stderr {
				if !strings.Contains(stderr, want) {
					t.Errorf("%q does not say %q", stderr, want)
				}
			}
		})
	}
}

func TestCompletionKnowsTheVersions(t *testing.T) {
	for flag, want := range map[string]string{"--to": "v1\nv1alpha1\n:4\n"} {
		if code, stdout, _ := runCommand(t, "__complete", "convert", flag, ""); code != 0 || stdout != want {
			t.Errorf("%s: exit code %d, %q", flag, code, stdout)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if code, stdout, _ := runCommand(t, "completion", shell); code != 0 || !strings.Contains(stdout, "fairlead") {
			t.Errorf("%s: exit code %d, %q", shell, code, stdout)
		}
	}
}

func TestAsAPluginOfKubectlTheUsageSaysSo(t *testing.T) {
	for path, want := range map[string]string{
		"/usr/local/bin/kubectl-fairlead": "kubectl fairlead", "kubectl-fairlead.exe": "kubectl fairlead",
		"/usr/local/bin/fairlead": "fairlead", "/tmp/kubectl-fairlead/manager": "fairlead",
	} {
		if got := program(path); got != want {
			t.Errorf("%s is called %q, want %q", path, got, want)
		}
	}
	var out bytes.Buffer
	if code := Execute([]string{"convert", "--help"}, Options{Output: &out, Logs: &out, Program: "kubectl fairlead"}); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"\n  kubectl fairlead convert --to VERSION", "kubectl fairlead convert --to v1 shop.yaml"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s\ndoes not say %q", out.String(), want)
		}
	}
}

// FuzzConvert demands of any text that nothing panics, that what converts once is at the version then,
// and that it converts again, and back, to the same.
func FuzzConvert(f *testing.F) {
	for _, text := range manifests(f) {
		f.Add(text)
	}
	inputs, err := filepath.Glob("testdata/convert/*.in.*")
	if err != nil {
		f.Fatal(err)
	}
	for _, input := range inputs {
		text, err := os.ReadFile(input)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	conversions := map[string]*convert.Conversion{"v1": conversionTo(f, "v1"), "v1alpha1": conversionTo(f, "v1alpha1")}
	f.Fuzz(func(t *testing.T, text []byte) {
		for version, conversion := range conversions {
			result, err := conversion.Text(text)
			if err != nil {
				continue
			}
			again, err := conversion.Text(result.Text)
			if err != nil {
				t.Fatalf("to %s: %v\nfrom %q\nto %q", version, err, text, result.Text)
			}
			if len(result.Failed) == 0 && (again.Changed || len(again.Stale) > 0 || len(again.Failed) > 0) {
				t.Fatalf("to %s, a second time: %v %v\nfrom %q\nto %q", version, again.Stale, again.Failed, text, result.Text)
			}
		}
	})
}

func TestConvertSaysWhatTheResultLacks(t *testing.T) {
	for name, test := range map[string]struct {
		to, content string
		want        []string
	}{
		"what vet refuses": {"v1", "apiVersion: networking.fairlead.dev/v1alpha1\nkind: ExternalService\nmetadata: {name: a}\nspec: {ports: [{name: a, port: 1}], endpoints: [{name: a, addresses: [192.0.2.1]}], probe: {tcpSocket: {port: 1}, interval: -1}}\n",
			[]string{":1:1: note: ExternalService a: the result does not pass vet: spec.healthCheck."}},
		"what vet accepts": {"v1", "apiVersion: networking.fairlead.dev/v1alpha1\nkind: ExternalService\nmetadata: {name: a}\nspec: {ports: [{name: a, port: 1}], endpoints: [{name: a, addresses: [192.0.2.1]}]}\n", nil},
		"an anchor": {"v1alpha1", "apiVersion: networking.fairlead.dev/v1\nkind: ExternalService\nmetadata: {name: a}\nspec:\n  ports: [{name: a, port: 1}]\n  endpoints: [{name: a, addresses: [192.0.2.1]}]\n  healthCheck: &p {tcpSocket: {}}\n  later: *p\n",
			[]string{":7:16: note: the anchor &p is gone: its value is written out in each place"}},
		"comments of a moved field": {"v1", "a: b\n---\napiVersion: networking.fairlead.dev/v1alpha1\nkind: ExternalService\nmetadata: {name: a} # kept\nspec:\n  ports: [{name: a, port: 1}]\n  endpoints: [{name: a, addresses: [192.0.2.1]}]\n  # the check\n  probe: {tcpSocket: {}}\n",
			[]string{":9:3: note: this comment is lost: # the check\n"}},
		"a text that cannot be read": {"v1", "a: b\n---\napiVersion: networking.fairlead.dev/v1\nkind: ExternalService\n\tspec: {}\n", []string{":5:1: error: not YAML: a tab indents this line"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "m.yaml")
			if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, _, stderr := runCommand(t, "convert", "--to", test.to, "-f", path)
			for _, want := range test.want {
				if !strings.Contains(stderr, path+want) {
					t.Errorf("nothing says %q:\n%s", want, stderr)
				}
			}
			if len(test.want) == 0 && stderr != "" {
				t.Error(stderr)
			}
		})
	}
}
