// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "write docs/reference/configuration.md")

// comments returns the comments of the structs of the package, and of their fields as Struct.Field.
func comments(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			if general, _ := declaration.(*ast.GenDecl); general != nil && general.Tok == token.TYPE {
				addComments(found, general)
			}
		}
	}
	return found
}

func addComments(found map[string]string, general *ast.GenDecl) {
	declared, _ := general.Specs[0].(*ast.TypeSpec)
	found[declared.Name.Name] = general.Doc.Text()
	of, _ := declared.Type.(*ast.StructType)
	if of == nil {
		return
	}
	for _, field := range of.Fields.List {
		for _, name := range field.Names {
			found[declared.Name.Name+"."+name.Name] = field.Doc.Text()
		}
	}
}

// prose returns a comment as a paragraph, with links to the pages that it names.
func prose(comment string) string {
	text := strings.Join(strings.Fields(comment), " ")
	text = regexp.MustCompile(`docs/guides/([a-z-]+)\.md`).ReplaceAllString(text, "[$0](../guides/$1.md)")
	return strings.NewReplacer("|", `\|`, "[docs/guides/", "[").Replace(text)
}

// ruleText returns a rule in words.
func ruleText(rule string) string {
	rule, _, _ = strings.Cut(rule, ",")
	least, most, ranges := strings.Cut(rule, "..")
	switch {
	case rule == "":
		return ""
	case ranges && most == "":
		return "at least " + least
	case ranges:
		return least + " to " + most
	case rule == "positive":
		return "above 0s"
	case rule == "address":
		return "host:port, or 0 for off"
	case rule == "label", rule == "subdomain":
		return "DNS " + rule
	default:
		return "`" + strings.ReplaceAll(rule, "|", "`, `") + "`"
	}
}

// section writes the table of a struct's fields, and then those of the structs in it. It returns how many fields it wrote.
func section(page *strings.Builder, text map[string]string, of reflect.Type, at string) (written int) {
	fmt.Fprintf(page, "\n## %s\n\n%s\n", cmp.Or(strings.TrimSuffix(at, "."), "The file"), prose(text[of.Name()]))
	below := map[string]reflect.Type{}
	var order []string
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		inner, path := field.Type, at+name+"."
		if inner.Kind() == reflect.Slice {
			inner, path = inner.Elem(), at+name+"[]."
		}
		if name != "" && inner.Kind() == reflect.Struct && inner.PkgPath() == of.PkgPath() {
			below[path], order = inner, append(order, path)
		}
		if name == "" || below[at+name+"."] != nil {
			continue
		}
		if written++; written == 1 {
			page.WriteString("\n| field | default | values | meaning |\n| --- | --- | --- | --- |\n")
		}
		fmt.Fprintf(page, "| `%s%s` | %s | %s | %s |\n", at, name, code(field.Tag.Get("default")), ruleText(field.Tag.Get("rule")), prose(text[of.Name()+"."+field.Name]))
	}
	for i, path := range order {
		if i == 0 || below[path] != below[order[i-1]] { // allow and deny have entries of one type
			written += section(page, text, below[path], path)
		}
	}
	return written
}

// The reference is made from the declarations of the fields: run the test with -update to write it.
func TestTheReferenceListsEveryFlagAndField(t *testing.T) {
	const path = "../../../docs/reference/configuration.md"
	var page strings.Builder
	page.WriteString("# Flags and the configuration file\n\n`go test ./cmd/fairlead/options -run Reference -update` writes this page from the types in " +
		"[cmd/fairlead/options](../../cmd/fairlead/options).\n\n`fairlead manager` reads the file that `--config` names, `apiVersion: " + APIVersion + "`, `kind: " + Kind +
		"`. A file with a field that is unknown, or whose value breaks a rule, is refused as a whole. Defaults are those of the program. Where the file of the manifests and the chart, [config/manager/config.yaml](../../config/manager/config.yaml), has another value, the row says so.\n\n## Flags\n\n" +
		"Flags override the file, and the last one of a field wins. `--set=FIELD=VALUE` sets any field: `--set=webhook.drainDelay=5s`, `--set=namespaces=shop,billing`, " +
		"`--set=controllers.concurrency.ChaosPod=4`, or in YAML `--set='egress.deny=[{cidrs: [192.0.2.0/24]}]'`.\n\n| flag | default | meaning |\n| --- | --- | --- |\n")
	NewFlags().FlagSet.VisitAll(func(flag *pflag.Flag) {
		name := "`--" + flag.Name + "`"
		if flag.Shorthand != "" {
			name += ", `-" + flag.Shorthand + "`"
		}
		fmt.Fprintf(&page, "| %s | %s | %s |\n", name, code(flag.DefValue), prose(flag.Usage))
	})
	if written := section(&page, comments(t), reflect.TypeFor[Configuration](), ""); written < len(Fields()) {
		t.Errorf("%d of %d fields", written, len(Fields()))
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `.*[^.] \\|$").FindAllString(page.String(), -1) {
		t.Errorf("no sentence says what it means: %s", row)
	}
	if *update {
		if err := os.WriteFile(path, []byte(page.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(stored), page.String()); diff != "" {
		t.Errorf("%s is not what the fields say; run: go test ./cmd/fairlead/options -run Reference -update (-file +fields):\n%s", path, diff)
	}
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
