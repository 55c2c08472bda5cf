import java.io.FileOutputStream;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * The reference of the differential test: does what {@code anrscope instrument --exits bare} does, with Java ASM and
 * the ids of its method map. {@code AsmPeer IN.jar methodMapping.txt OUT.jar}; classes without inserted calls are
 * omitted.
 */
public final class AsmPeer {
    private static final String BEAT = "dev/anrscope/MethodBeat";

    public static void main(String[] args) throws Exception {
        Map<String, Integer> ids = new HashMap<>();
        for (String line : Files.readAllLines(Paths.get(args[1]))) {
            String[] parts = line.split(",", 3);
            ids.put(parts[2], Integer.parseInt(parts[0]));
        }
        try (ZipFile in = new ZipFile(args[0]);
                ZipOutputStream out = new ZipOutputStream(new FileOutputStream(args[2]))) {
            out.setLevel(1);
            for (ZipEntry entry : Collections.list(in.entries())) {
                if (!entry.getName().endsWith(".class") || entry.getName().contains("META-INF/")) {
                    continue;
                }
                byte[] bytes;
                try (InputStream stream = in.getInputStream(entry)) {
                    bytes = stream.readAllBytes();
                }
                byte[] traced = instrument(bytes, ids);
                if (traced != null) {
                    out.putNextEntry(new ZipEntry(entry.getName()));
                    out.write(traced);
                }
            }
        }
    }

    private static byte[] instrument(byte[] bytes, Map<String, Integer> ids) {
        ClassReader reader = new ClassReader(bytes);
        ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
        boolean[] changed = new boolean[1];
        reader.accept(
                new ClassVisitor(Opcodes.ASM9, writer) {
                    @Override
                    public MethodVisitor visitMethod(
                            int access, String name, String descriptor, String signature, String[] thrown) {
                        MethodVisitor visitor =
                                super.visitMethod(access, name, descriptor, signature, thrown);
                        String key = reader.getClassName() + ' ' + name + ' ' + descriptor;
                        Integer id = ids.get(key.replace('/', '.'));
                        if (id == null || (access & (Opcodes.ACC_ABSTRACT | Opcodes.ACC_NATIVE)) != 0) {
                            return visitor;
                        }
                        changed[0] = true;
                        return new Beats(visitor, name, id);
                    }
                },
                0);
        return changed[0] ? writer.toByteArray() : null;
    }

    /**
     * Not an AdviceAdapter, which renumbers local variables. A constructor is entered after its first constructor call
     * that belongs to no {@code new} before it; targets of jumps from before that point are before it too, such as a
     * throw that checks the arguments.
     */
    private static final class Beats extends MethodVisitor {
        private final int id;
        private final boolean constructor;
        private boolean entered;
        private int made;
        private boolean falls = true;
        private final Map<Label, Boolean> reached = new HashMap<>();
        private final Map<Label, Label> handlers = new HashMap<>();

        Beats(MethodVisitor visitor, String name, int id) {
            super(Opcodes.ASM9, visitor);
            this.id = id;
            constructor = name.equals("<init>");
        }

        private void call(String method) {
            if (id < 6) {
                mv.visitInsn(Opcodes.ICONST_0 + id);
            } else if (id < 128) {
                mv.visitIntInsn(Opcodes.BIPUSH, id);
            } else if (id < 32768) {
                mv.visitIntInsn(Opcodes.SIPUSH, id);
            } else {
                mv.visitLdcInsn(id);
            }
            mv.visitMethodInsn(Opcodes.INVOKESTATIC, BEAT, method, "(I)V", false);
        }

        @Override
        public void visitCode() {
            super.visitCode();
            if (!constructor) {
                call("i");
                entered = true;
            }
        }

        private void leadsTo(Label... targets) {
            for (Label target : targets) {
                reached.putIfAbsent(target, entered);
            }
        }

        @Override
        public void visitTryCatchBlock(Label start, Label end, Label handler, String type) {
            handlers.putIfAbsent(handler, start);
            super.visitTryCatchBlock(start, end, handler, type);
        }

        @Override
        public void visitLabel(Label label) {
            if (constructor && !falls) {
                Label start = handlers.get(label);
                entered = reached.getOrDefault(label, reached.getOrDefault(start, entered));
            }
            falls = true;
            leadsTo(label);
            super.visitLabel(label);
        }

        @Override
        public void visitJumpInsn(int opcode, Label target) {
            leadsTo(target);
            super.visitJumpInsn(opcode, target);
            falls = opcode != Opcodes.GOTO;
        }

        @Override
        public void visitTableSwitchInsn(int min, int max, Label otherwise, Label... targets) {
            leadsTo(otherwise);
            leadsTo(targets);
            super.visitTableSwitchInsn(min, max, otherwise, targets);
            falls = false;
        }

        @Override
        public void visitLookupSwitchInsn(Label otherwise, int[] keys, Label[] targets) {
            leadsTo(otherwise);
            leadsTo(targets);
            super.visitLookupSwitchInsn(otherwise, keys, targets);
            falls = false;
        }

        @Override
        public void visitTypeInsn(int opcode, String type) {
            made += opcode == Opcodes.NEW ? 1 : 0;
            super.visitTypeInsn(opcode, type);
        }

        @Override
        public void visitMethodInsn(int opcode, String owner, String name, String descriptor, boolean isInterface) {
            super.visitMethodInsn(opcode, owner, name, descriptor, isInterface);
            if (constructor && !entered && opcode == Opcodes.INVOKESPECIAL && name.equals("<init>")) {
                if (made == 0) {
                    call("i");
                    entered = true;
                } else {
                    made--;
                }
            }
        }

        @Override
        public void visitInsn(int opcode) {
            boolean leaves = opcode >= Opcodes.IRETURN && opcode <= Opcodes.RETURN || opcode == Opcodes.ATHROW;
            if (entered && leaves) {
                call("o");
            }
            super.visitInsn(opcode);
            falls = !leaves;
        }
    }
}
